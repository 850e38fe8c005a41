// A cell of ns-3's LTE with one bulk TCP flow to each UE, for `slackwater validate --ns3` and `slackwater bench --peer ns3`.
//
// This file is Slackwater's and licensed as Slackwater is (MIT or Apache-2.0, at your choice). It calls ns-3, whose
// licence is the GPL, version 2: the command compiles it on the user's machine against the user's copy of ns-3, and no
// part of ns-3 comes with Slackwater. Whoever passes on the compiled program has to follow the GPL (take the MIT licence).
//
// It prints one line of JSON. With --channel=FILE it also writes what the channel did, as rows of
// `kind,ue,time_s,value`: kind `distance` in metres, kind `mcs` for the MCS of new downlink blocks, changes only.

#include "ns3/applications-module.h"
#include "ns3/core-module.h"
#include "ns3/internet-module.h"
#include "ns3/lte-module.h"
#include "ns3/mobility-module.h"
#include "ns3/network-module.h"
#include "ns3/point-to-point-module.h"

#include <sys/resource.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <map>
#include <random>
#include <string>
#include <vector>

using namespace ns3;

// The transmission buffers of RLC are private, and ns-3 tells their head-of-line delay to nobody outside. An explicit
// instantiation may name a private member ([temp.explicit]): that is how they are read here.
template <auto Member, typename Tag>
struct Open
{
    friend auto Reach(Tag)
    {
        return Member;
    }
};

struct UmBuffer
{
    friend auto Reach(UmBuffer);
};

struct AmBuffer
{
    friend auto Reach(AmBuffer);
};

template struct Open<&LteRlcUm::m_txBuffer, UmBuffer>;
template struct Open<&LteRlcAm::m_txonBuffer, AmBuffer>;

namespace
{

// What was seen of one UE and its flow.
struct Flow
{
    Ptr<BulkSendApplication> source;
    Ptr<PacketSink> sink;
    Ptr<LteRlc> rlc;

    uint64_t received_before = 0; // at the end of the warm-up, in bytes
    std::vector<double> hol_ms;
    std::vector<double> rtt_ms;  // last sample
    std::vector<double> srtt_ms; // smoothed
    std::vector<double> cwnd;    // segments

    Time rtt;
    Time srtt;
    uint32_t cwnd_bytes = 0;

    uint64_t dropped = 0; // SDUs that the RLC buffer had no room for
    uint32_t recoveries = 0;
    uint32_t again = 0; // recoveries within one RTT after the end of the one before
    uint32_t timeouts = 0;
    Time recovered = Seconds(-1);

    int mcs = -1;
};

struct Options
{
    std::string tcp = "TcpCubic";
    std::string recovery = "TcpPrrRecovery";
    std::string rlc = "um";
    uint32_t ues = 1;
    uint32_t place = 1;
    uint32_t seed = 1;
    uint32_t segment = 1448;
    uint32_t buffer = 192000;
    double seconds = 60;
    double start = 0.5;
    double warmup = 2;
    double power = 30;
    double near_m = 60;
    double far_m = 600;
    double jump = 2;
    double wired = 0.015;
    bool record = true;
    std::string channel;
    std::string places;
};

Options g_options;
std::vector<Flow> g_flows;
std::vector<Ptr<MobilityModel>> g_places;
std::mt19937_64 g_distance;
std::ofstream g_channel;

// Blocks of the downlink by what they carried: all, and those in which a STATUS PDU of RLC AM went alone.
uint64_t g_blocks = 0;
uint64_t g_status_blocks = 0;
std::vector<double> g_ack_gaps_ms;
std::map<uint16_t, Time> g_last_uplink;

double
Now()
{
    return Simulator::Now().GetSeconds();
}

bool
Measured()
{
    return Now() >= g_options.warmup;
}

// A number in [0, 1) that is the same with every standard library.
double
Uniform(std::mt19937_64& from)
{
    return static_cast<double>(from() >> 11) * 0x1p-53;
}

void
Place(uint32_t ue, double metres)
{
    g_places[ue]->SetPosition(Vector(metres, 0, 0));
    if (g_channel.is_open())
    {
        g_channel << "distance," << ue << "," << Now() << "," << metres << "\n";
    }
}

void
Jump()
{
    for (uint32_t ue = 0; ue < g_places.size(); ue++)
    {
        Place(ue, g_options.near_m + Uniform(g_distance) * (g_options.far_m - g_options.near_m));
    }
    if (g_options.jump > 0)
    {
        Simulator::Schedule(Seconds(g_options.jump), &Jump);
    }
}

// Rows of `ue,time_s,metres`.
void
FollowPlaces()
{
    std::ifstream file(g_options.places);
    NS_ABORT_MSG_IF(!file, g_options.places << ": not readable");
    uint32_t ue = 0;
    double time = 0;
    double metres = 0;
    char comma = 0;
    while (file >> ue >> comma >> time >> comma >> metres)
    {
        NS_ABORT_MSG_IF(ue >= g_places.size(), g_options.places << ": UE " << ue << ", expected fewer than --ues");
        Simulator::Schedule(Seconds(time), &Place, ue, metres);
    }
}

template <typename Rlc, typename Tag>
bool
HeadOfLine(Ptr<LteRlc> of, Tag tag, double& age)
{
    auto rlc = DynamicCast<Rlc>(of);
    if (!rlc)
    {
        return false;
    }
    const auto& buffer = (*PeekPointer(rlc)).*Reach(tag);
    age = buffer.empty() ? 0.0 : (Simulator::Now() - buffer.front().m_waitingSince).GetSeconds() * 1e3;
    return true;
}

void
Sample()
{
    for (auto& f : g_flows)
    {
        double age = 0;
        if (f.rlc && (HeadOfLine<LteRlcUm>(f.rlc, UmBuffer{}, age) || HeadOfLine<LteRlcAm>(f.rlc, AmBuffer{}, age)))
        {
            f.hol_ms.push_back(age);
        }
        f.rtt_ms.push_back(f.rtt.GetSeconds() * 1e3);
        f.srtt_ms.push_back(f.srtt.GetSeconds() * 1e3);
        f.cwnd.push_back(static_cast<double>(f.cwnd_bytes) / g_options.segment);
    }
    Simulator::Schedule(MilliSeconds(1), &Sample);
}

void
EndOfWarmup()
{
    for (auto& f : g_flows)
    {
        f.received_before = f.sink->GetTotalRx();
    }
    if (g_options.record)
    {
        Sample();
    }
}

void
OnRtt(Flow* f, Time, Time now)
{
    f->rtt = now;
}

void
OnSrtt(Flow* f, Time, Time now)
{
    f->srtt = now;
}

void
OnCwnd(Flow* f, uint32_t, uint32_t now)
{
    f->cwnd_bytes = now;
}

void
OnState(Flow* f, TcpSocketState::TcpCongState_t was, TcpSocketState::TcpCongState_t is)
{
    if (was == TcpSocketState::CA_RECOVERY && is != TcpSocketState::CA_RECOVERY)
    {
        f->recovered = Simulator::Now();
    }
    if (!Measured() || was == is)
    {
        return;
    }
    if (is == TcpSocketState::CA_RECOVERY)
    {
        f->recoveries++;
        bool soon = f->recovered.IsPositive() && Simulator::Now() - f->recovered <= f->srtt;
        f->again += soon ? 1 : 0;
    }
    else if (is == TcpSocketState::CA_LOSS)
    {
        f->timeouts++;
    }
}

void
OnDrop(Flow* f, Ptr<const Packet>)
{
    f->dropped += Measured() ? 1 : 0;
}

void
OnBlock(std::map<uint16_t, uint32_t>* by_rnti, PhyTransmissionStatParameters block)
{
    if (block.m_rv != 0)
    {
        return; // a repetition keeps the MCS of its first transmission
    }
    g_blocks += Measured() ? 1 : 0;
    auto at = by_rnti->find(block.m_rnti);
    if (at == by_rnti->end() || g_flows[at->second].mcs == block.m_mcs)
    {
        return;
    }
    g_flows[at->second].mcs = block.m_mcs;
    if (g_channel.is_open())
    {
        g_channel << "mcs," << at->second << "," << Now() << "," << int(block.m_mcs) << "\n";
    }
}

// A PDU of RLC AM that is far smaller than a segment's share of a block is a STATUS.
void
OnPdu(uint16_t, uint8_t, uint32_t bytes)
{
    g_status_blocks += Measured() && bytes < 40 ? 1 : 0;
}

// The moments at which a UE's packets reach the base station's RLC.
void
OnUplink(uint16_t rnti, uint8_t, uint32_t, uint64_t)
{
    auto [at, first] = g_last_uplink.try_emplace(rnti, Simulator::Now());
    if (!first && Measured() && g_options.record)
    {
        g_ack_gaps_ms.push_back((Simulator::Now() - at->second).GetSeconds() * 1e3);
    }
    at->second = Simulator::Now();
}

void
Connect(Flow* f)
{
    auto socket = f->source->GetSocket();
    socket->TraceConnectWithoutContext("LastRTT", MakeBoundCallback(&OnRtt, f));
    socket->TraceConnectWithoutContext("RTT", MakeBoundCallback(&OnSrtt, f));
    socket->TraceConnectWithoutContext("CongestionWindow", MakeBoundCallback(&OnCwnd, f));
    socket->TraceConnectWithoutContext("CongState", MakeBoundCallback(&OnState, f));
}

void
FindBearers(Ptr<LteEnbNetDevice> enb, NetDeviceContainer* ues, std::map<uint16_t, uint32_t>* by_rnti)
{
    for (uint32_t i = 0; i < ues->GetN(); i++)
    {
        uint16_t rnti = DynamicCast<LteUeNetDevice>(ues->Get(i))->GetRrc()->GetRnti();
        (*by_rnti)[rnti] = i;
        ObjectMapValue bearers;
        enb->GetRrc()->GetUeManager(rnti)->GetAttribute("DataRadioBearerMap", bearers);
        for (auto b = bearers.Begin(); b != bearers.End(); ++b)
        {
            auto rlc = DynamicCast<LteDataRadioBearerInfo>(b->second)->m_rlc;
            g_flows[i].rlc = rlc;
            rlc->TraceConnectWithoutContext("TxDrop", MakeBoundCallback(&OnDrop, &g_flows[i]));
            rlc->TraceConnectWithoutContext("RxPDU", MakeCallback(&OnUplink));
            if (DynamicCast<LteRlcAm>(rlc))
            {
                rlc->TraceConnectWithoutContext("TxPDU", MakeCallback(&OnPdu));
            }
        }
    }
}

// Nearest-rank quantiles, as docs/metrics.md defines them.
void
PrintQuantiles(const char* name, std::vector<double>& values)
{
    std::printf(", \"%s\": ", name);
    if (values.empty())
    {
        std::printf("null");
        return;
    }
    std::sort(values.begin(), values.end());
    auto q = [&](double p) {
        auto rank = static_cast<size_t>(std::ceil(p * values.size()));
        return values[std::clamp<size_t>(rank, 1, values.size()) - 1];
    };
    double sum = 0;
    for (double v : values)
    {
        sum += v;
    }
    std::printf("{\"mean\": %.6g, \"p10\": %.6g, \"p50\": %.6g, \"p90\": %.6g, \"p99\": %.6g, \"max\": %.6g}",
                sum / values.size(), q(0.1), q(0.5), q(0.9), q(0.99), values.back());
}

double
CpuSeconds()
{
    rusage use{};
    getrusage(RUSAGE_SELF, &use);
    auto s = [](const timeval& t) { return t.tv_sec + t.tv_usec * 1e-6; };
    return s(use.ru_utime) + s(use.ru_stime);
}

} // namespace

int
main(int argc, char* argv[])
{
    Options& o = g_options;
    CommandLine cmd(__FILE__);
    cmd.AddValue("tcp", "TcpCubic, TcpNewReno or TcpBbr", o.tcp);
    cmd.AddValue("recovery", "TcpPrrRecovery or TcpClassicRecovery", o.recovery);
    cmd.AddValue("rlc", "um or am", o.rlc);
    cmd.AddValue("ues", "UEs, a flow each", o.ues);
    cmd.AddValue("place", "seed of the distances", o.place);
    cmd.AddValue("seed", "seed of all else, with it a start of the flows up to 100 ms later", o.seed);
    cmd.AddValue("buffer", "RLC buffer, bytes", o.buffer);
    cmd.AddValue("seconds", "simulated time", o.seconds);
    cmd.AddValue("start", "start of the flows, seconds", o.start);
    cmd.AddValue("warmup", "start of the statistics, seconds", o.warmup);
    cmd.AddValue("power", "power of the eNB, dBm", o.power);
    cmd.AddValue("near", "least distance, metres", o.near_m);
    cmd.AddValue("far", "largest distance, metres", o.far_m);
    cmd.AddValue("jump", "time at each distance, seconds; 0: never", o.jump);
    cmd.AddValue("wired", "one-way delay of the wired path, seconds", o.wired);
    cmd.AddValue("record", "sample queues and RTTs each millisecond", o.record);
    cmd.AddValue("channel", "file for the channel", o.channel);
    cmd.AddValue("places", "file of distances to follow in place of draws", o.places);
    cmd.Parse(argc, argv);
    RngSeedManager::SetRun(o.seed);

    // TCP: the segment of a 1,500-byte packet with timestamps, ten segments at first (RFC 6928), 6 MB at either end.
    Config::SetDefault("ns3::TcpL4Protocol::SocketType", StringValue("ns3::" + o.tcp));
    Config::SetDefault("ns3::TcpL4Protocol::RecoveryType", StringValue("ns3::" + o.recovery));
    Config::SetDefault("ns3::TcpSocket::SegmentSize", UintegerValue(o.segment));
    Config::SetDefault("ns3::TcpSocket::InitialCwnd", UintegerValue(10));
    Config::SetDefault("ns3::TcpSocket::SndBufSize", UintegerValue(6000000));
    Config::SetDefault("ns3::TcpSocket::RcvBufSize", UintegerValue(6000000));
    Config::SetDefault("ns3::TcpSocketBase::Sack", BooleanValue(true));

    bool am = o.rlc == "am";
    Config::SetDefault("ns3::LteEnbRrc::EpsBearerToRlcMapping",
                       EnumValue(am ? LteEnbRrc::RLC_AM_ALWAYS : LteEnbRrc::RLC_UM_ALWAYS));
    Config::SetDefault("ns3::LteRlcUm::MaxTxBufferSize", UintegerValue(o.buffer));
    Config::SetDefault("ns3::LteRlcAm::MaxTxBufferSize", UintegerValue(o.buffer));
    // Sounding: the period bounds how many UEs a cell takes.
    Config::SetDefault("ns3::LteEnbRrc::SrsPeriodicity", UintegerValue(o.ues > 150 ? 320 : o.ues > 30 ? 160 : 40));
    Config::SetDefault("ns3::LteEnbPhy::TxPower", DoubleValue(o.power));

    Ptr<LteHelper> lte = CreateObject<LteHelper>();
    Ptr<PointToPointEpcHelper> epc = CreateObject<PointToPointEpcHelper>();
    lte->SetEpcHelper(epc);
    lte->SetSchedulerType("ns3::PfFfMacScheduler");
    lte->SetEnbDeviceAttribute("DlBandwidth", UintegerValue(50));
    lte->SetEnbDeviceAttribute("UlBandwidth", UintegerValue(50));
    lte->SetAttribute("PathlossModel", StringValue("ns3::LogDistancePropagationLossModel"));
    lte->SetPathlossModelAttribute("Exponent", DoubleValue(3.0));
    lte->SetPathlossModelAttribute("ReferenceDistance", DoubleValue(1.0));
    lte->SetPathlossModelAttribute("ReferenceLoss", DoubleValue(38.6));

    NodeContainer remote(1);
    NodeContainer enb(1);
    NodeContainer ues(o.ues);
    MobilityHelper mobility;
    mobility.SetMobilityModel("ns3::ConstantPositionMobilityModel");
    mobility.Install(enb);
    mobility.Install(ues);
    for (uint32_t i = 0; i < o.ues; i++)
    {
        g_places.push_back(ues.Get(i)->GetObject<MobilityModel>());
    }
    if (!o.channel.empty())
    {
        g_channel.open(o.channel);
        g_channel.precision(9);
        g_channel << "kind,ue,time_s,value\n";
    }
    g_distance.seed(o.place);
    if (o.places.empty())
    {
        Jump();
    }
    else
    {
        FollowPlaces();
    }

    InternetStackHelper internet;
    internet.Install(remote);
    internet.Install(ues);
    PointToPointHelper wire;
    wire.SetDeviceAttribute("DataRate", StringValue("100Gb/s"));
    wire.SetDeviceAttribute("Mtu", UintegerValue(1500));
    wire.SetChannelAttribute("Delay", TimeValue(Seconds(o.wired)));
    auto wired = wire.Install(epc->GetPgwNode(), remote.Get(0));
    Ipv4AddressHelper addresses;
    addresses.SetBase("1.0.0.0", "255.0.0.0");
    addresses.Assign(wired);
    Ipv4StaticRoutingHelper routing;
    routing.GetStaticRouting(remote.Get(0)->GetObject<Ipv4>())
        ->AddNetworkRouteTo(Ipv4Address("7.0.0.0"), Ipv4Mask("255.0.0.0"), 1);

    auto enb_devices = lte->InstallEnbDevice(enb);
    auto ue_devices = lte->InstallUeDevice(ues);
    auto ue_addresses = epc->AssignUeIpv4Address(ue_devices);
    for (uint32_t i = 0; i < o.ues; i++)
    {
        routing.GetStaticRouting(ues.Get(i)->GetObject<Ipv4>())->SetDefaultRoute(epc->GetUeDefaultGatewayAddress(), 1);
    }
    lte->Attach(ue_devices, enb_devices.Get(0));

    // Where nothing fades ns-3 repeats itself: what differs from run to run is when a flow starts.
    std::mt19937_64 phase(o.seed);
    g_flows.resize(o.ues);
    for (uint32_t i = 0; i < o.ues; i++)
    {
        Flow& f = g_flows[i];
        const uint16_t port = 5000;
        PacketSinkHelper sink("ns3::TcpSocketFactory", InetSocketAddress(Ipv4Address::GetAny(), port));
        f.sink = DynamicCast<PacketSink>(sink.Install(ues.Get(i)).Get(0));
        BulkSendHelper bulk("ns3::TcpSocketFactory", InetSocketAddress(ue_addresses.GetAddress(i), port));
        bulk.SetAttribute("SendSize", UintegerValue(o.segment));
        auto apps = bulk.Install(remote.Get(0));
        Time start = Seconds(o.start + 0.1 * Uniform(phase));
        apps.Start(start);
        f.source = DynamicCast<BulkSendApplication>(apps.Get(0));
        if (o.record)
        {
            Simulator::Schedule(start + NanoSeconds(1), &Connect, &f);
        }
    }

    std::map<uint16_t, uint32_t> by_rnti;
    auto device = DynamicCast<LteEnbNetDevice>(enb_devices.Get(0));
    if (o.record || g_channel.is_open())
    {
        Simulator::Schedule(Seconds(o.start) - MilliSeconds(1), &FindBearers, device, &ue_devices, &by_rnti);
        device->GetPhy()->TraceConnectWithoutContext("DlPhyTransmission", MakeBoundCallback(&OnBlock, &by_rnti));
    }
    Simulator::Schedule(Seconds(o.warmup), &EndOfWarmup);

    // Set-up and attachment are not what a simulated second costs.
    Simulator::Stop(Seconds(o.warmup));
    Simulator::Run();
    double cpu_before = CpuSeconds();
    Simulator::Stop(Seconds(o.seconds - o.warmup));
    Simulator::Run();
    double cpu = CpuSeconds() - cpu_before;

    rusage use{};
    getrusage(RUSAGE_SELF, &use);
    double span = o.seconds - o.warmup;
    std::printf("{\"seconds\": %.6g, \"cpu_s\": %.6g, \"cpu_all_s\": %.6g, \"peak_kib\": %ld, \"events\": %llu",
                span, cpu, CpuSeconds(), use.ru_maxrss, static_cast<unsigned long long>(Simulator::GetEventCount()));
    std::printf(", \"blocks\": %llu, \"status_blocks\": %llu", static_cast<unsigned long long>(g_blocks),
                static_cast<unsigned long long>(g_status_blocks));
    PrintQuantiles("uplink_gap_ms", g_ack_gaps_ms);
    std::printf(", \"flows\": [");
    for (uint32_t i = 0; i < o.ues; i++)
    {
        Flow& f = g_flows[i];
        uint64_t bytes = f.sink->GetTotalRx() - f.received_before;
        std::printf("%s{\"goodput_mbps\": %.6g, \"dropped\": %llu, \"recoveries\": %u, \"again\": %u, \"timeouts\": %u",
                    i == 0 ? "" : ", ", bytes * 8e-6 / span, static_cast<unsigned long long>(f.dropped), f.recoveries,
                    f.again, f.timeouts);
        PrintQuantiles("hol_ms", f.hol_ms);
        PrintQuantiles("rtt_ms", f.rtt_ms);
        PrintQuantiles("srtt_ms", f.srtt_ms);
        PrintQuantiles("cwnd", f.cwnd);
        std::printf("}");
    }
    std::printf("]}\n");
    Simulator::Destroy();
    return 0;
}
